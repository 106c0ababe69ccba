"""`__main__` of tachograph-agent.pyz: starts the node agent from the folder that fits this Python.

A Python that is too old must be able to read this file, for the sentence that it is.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

OLDEST = (3, 11)
ANNOTATIONS_ELSEWHERE = (3, 14)


class Later(ModuleType):
    """Stands for `inspect` until somebody needs more of it than this: loading it costs a tenth of the agent's start.

    dataclasses imports it for the annotations of a class, and to describe classes that have no docstring. From Python
    3.14 on annotations are kept elsewhere, and dataclasses asks another module for them.
    """

    @staticmethod
    def get_annotations(of: type) -> dict:
        """The annotations in the body of a class, until Python 3.13."""
        return dict(of.__dict__.get("__annotations__", {}))  # noqa: RUF063 - this is what stands for it

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def folder(loader: Any) -> str:
    """Where in the archive the modules are: bytecode of this Python, or sources where there is none."""
    name = f"py{sys.version_info[0]}{sys.version_info[1]}"
    try:
        loader.get_data(name + "/telemetry/__init__.pyc")
    except OSError:
        return "source"
    return name


if __name__ == "__main__":
    gc.disable()  # there is no garbage to look for while modules load; the agent turns it on when it has started
    if sys.version_info < OLDEST:
        sys.exit("tachograph-agent needs Python 3.11 or newer")
    if sys.version_info < ANNOTATIONS_ELSEWHERE:
        sys.modules["inspect"] = Later("inspect")
    sys.path[0] = f"{__loader__.archive}/{folder(__loader__)}"

    from collectors.node.command import main

    sys.exit(main())
