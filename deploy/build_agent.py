"""Build tachograph-agent.pyz: the node agent in one file that needs a Python of 3.11 or newer and nothing else.

    python deploy/build_agent.py [--output tachograph-agent.pyz]

pynvml is taken from the nvidia-ml-py installed where this runs. Compiling it at each start would cost an eighth of a
second and 10 MiB, so the file carries bytecode for every Python found here, in one piece each, beside the sources for
all others. Nothing is compressed: the agent starts faster, and needs no zlib.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MINORS = range(11, 16)
PACKAGES = ("collectors/__init__.py", "collectors/node/*.py", "telemetry/__init__.py", "telemetry/model.py")
CATALOG = "telemetry/catalog/*.py"
PYNVML = "pynvml.py"
UNUSED = "from ctypes.util import find_library\n"
"""pynvml imports this for nothing; without it the agent starts 10 ms earlier and is 1.6 MiB smaller."""
FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file in the archive, so that the same sources give the same bytes."""
MAIN = ROOT / "deploy/start_agent.py"
COMPILE = """
import importlib.util, marshal, sys
target, *lines = sys.stdin.read().splitlines()
modules = {}
for line in lines:
    name, source, shown = line.split("\\t")
    with open(source, encoding="utf-8") as file:
        code = compile(file.read(), shown, "exec", dont_inherit=True, optimize=0)
    modules[name] = shown.endswith("/__init__.py"), code
with open(target, "wb") as file:
    file.write(importlib.util.MAGIC_NUMBER + marshal.dumps(modules))
"""
"""Docstrings stay: dataclasses would write those that are missing, at each start and at great length."""


def sources(scratch: Path) -> dict[str, Path]:
    """Path in the archive → file, of everything the agent is made of."""
    found = {
        str(path.relative_to(ROOT)): path for pattern in (*PACKAGES, CATALOG) for path in sorted(ROOT.glob(pattern))
    }
    specification = importlib.util.find_spec("pynvml")
    if specification is None or specification.origin is None:
        raise SystemExit("pynvml is not installed here: pip install nvidia-ml-py")
    text = Path(specification.origin).read_text(encoding="utf-8")
    lean = scratch / PYNVML
    lean.write_text(text.replace(UNUSED, "") if text.count("find_library") == 1 else text, encoding="utf-8")
    return found | {PYNVML: lean}


def interpreters() -> Iterator[tuple[str, str]]:
    """(name of its bundle, interpreter) of each Python found: this one, those on PATH, those of pyenv."""
    seen = {}
    candidates = [sys.executable, *(shutil.which(f"python3.{minor}") or "" for minor in MINORS)]
    candidates += [str(path) for path in sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))]
    for candidate in filter(None, candidates):
        version = minor_version(candidate)
        if version and version not in seen:
            seen[version] = candidate
            yield version, candidate


def minor_version(interpreter: str) -> str | None:
    """ "py312", None for a Python that is too old or does not start."""
    ask = "import sys; print('%d %d' % sys.version_info[:2])"
    done = subprocess.run([interpreter, "-I", "-S", "-c", ask], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    return f"py{words[0]}{words[1]}" if len(words) == 2 and int(words[1]) >= MINORS[0] else None


def module_name(path: str) -> str:
    """Name of the module that a file is, "a/b/__init__.py" being a.b."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def bundle(interpreter: str, files: dict[str, Path], target: Path) -> bytes:
    """What `Bundle` of start_agent.py reads: this interpreter's magic number, and its bytecode of all modules."""
    lines = [str(target), *(f"{module_name(name)}\t{path}\t{name}" for name, path in files.items())]
    subprocess.run([interpreter, "-I", "-S", "-c", COMPILE], input="\n".join(lines), text=True, check=True)
    return target.read_bytes()


def write(output: Path, contents: Iterable[tuple[str, bytes]]) -> None:
    """The archive: a line that names the interpreter, then a zip file with a fixed date on everything."""
    with open(output, "wb") as file:
        file.write(b"#!/usr/bin/env -S python3 -I -S\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, content in contents:
                archive.writestr(zipfile.ZipInfo(name, FIRST_DATE), content)
    output.chmod(0o755)


def build(output: Path) -> list[str]:
    """Write the archive; the versions whose bytecode it carries."""
    versions = []
    with tempfile.TemporaryDirectory() as scratch:
        files = sources(Path(scratch))
        contents = [("__main__.py", MAIN.read_bytes())]
        contents += [(f"source/{name}", path.read_bytes()) for name, path in files.items()]
        for version, interpreter in interpreters():
            versions.append(version)
            contents.append((version, bundle(interpreter, files, Path(scratch) / version)))
        write(output, contents)
    return versions


def main() -> None:
    """Command line."""
    options = argparse.ArgumentParser(description="Build the node agent as one file.")
    options.add_argument("--output", type=Path, default=ROOT / "tachograph-agent.pyz")
    output = options.parse_args().output
    versions = build(output)
    size = output.stat().st_size / 1024
    sys.stdout.write(f"{output}: {size:.0f} KiB, bytecode for {', '.join(versions)}\n")


if __name__ == "__main__":
    main()
