"""`__main__` of tachograph-agent.pyz: starts the node agent from the bytecode that fits this Python.

A Python that is too old must be able to read this file, for the sentence that it is.
"""

import gc
import marshal
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import MAGIC_NUMBER
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


class Bundle:
    """Finds the agent's modules among those that one read of the archive gave; zipimport makes a start a tenth dearer.

    modules: name → (whether it is a package, its code). A module's code is let go of once it has run.
    """

    def __init__(self, modules: dict) -> None:
        self._modules = modules

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        """As the import system asks; None for modules that are not here."""
        found = self._modules.get(name)
        return None if found is None else ModuleSpec(name, self, is_package=found[0])

    def create_module(self, _spec: Any) -> None:
        """The usual kind of module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run its code."""
        exec(self._modules[module.__name__][1], module.__dict__)
        del self._modules[module.__name__]


def bundled(loader: Any) -> Any:
    """The bundle for this very Python in the archive of this loader; None where there is none."""
    try:
        content = memoryview(loader.get_data(f"py{sys.version_info[0]}{sys.version_info[1]}"))
    except OSError:
        return None
    head = len(MAGIC_NUMBER)
    return Bundle(marshal.loads(content[head:])) if content[:head] == MAGIC_NUMBER else None


def prepare(loader: Any) -> None:
    """Let the agent's modules be found: bytecode of this Python, or sources where there is none."""
    found = bundled(loader)
    if found is None:
        sys.path[0] = f"{loader.archive}/source"
    else:
        sys.path.pop(0)
        sys.meta_path.insert(0, found)


if __name__ == "__main__":
    gc.disable()  # there is no garbage to look for while modules load; the agent turns it on when it has started
    if sys.version_info < OLDEST:
        sys.exit("tachograph-agent needs Python 3.11 or newer")
    if sys.version_info < ANNOTATIONS_ELSEWHERE:
        sys.modules["inspect"] = Later("inspect")
    prepare(__loader__)

    from collectors.node.command import main

    sys.exit(main())
