"""
Load modules from the bundle, without looking for files.

The interpreter's own way through its finders costs 60 microseconds a module, and a boot has
sixty-five. So what a module imports at its top is loaded before it, straight from the bundle, and
its import statements find it there; only an import inside a function goes the interpreter's way.
Modules that are always needed together lie together, in one part: names that several of them use
are read once.
"""

from __future__ import annotations

import gc
import sys
from _frozen_importlib import ModuleSpec
from _imp import source_hash
from marshal import loads
from posix import pread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    # Of each module, the number of its part; of each part where it begins, how long it is, and its
    # checksum. As make.py writes it.
    Places = dict[str, int]
    Parts = list[tuple[int, int, bytes]]
    Code = Any

# A boot makes little garbage, and looking for it would cost a tenth of a start. What runs longer
# than a boot meets the collector after this many objects, instead of 700.
OBJECTS_BETWEEN_COLLECTIONS = 100_000

# Of the checksums of parts. They find damage; they are no secret and prove no origin.
KEY = 20261116

Module = type(sys)


def start(
    file: int, directory: str, table: tuple[Places, Parts], trouble: list[str]
) -> Callable[[list[str]], int]:
    """Return the agent's main function; its modules come from this open file from now on."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    # For a module that is damaged. Nothing else on the path has a package of our name.
    sys.path.append(directory)
    sys.dont_write_bytecode = True
    bundle = Bundle(file, directory, table, trouble)
    sys.meta_path.insert(0, bundle)
    try:
        return bundle.load("fairlead.agent.main").main  # type: ignore[no-any-return]
    except BaseException:
        sys.meta_path.remove(bundle)
        raise


class Bundle:
    """An open bundle: a finder and a loader of modules, as the interpreter asks for them."""

    __slots__ = ("_directory", "_file", "_parts", "_places", "_read", "_spec", "_trouble")

    def __init__(
        self, file: int, directory: str, table: tuple[Places, Parts], trouble: list[str]
    ) -> None:
        self._file = file
        self._directory = directory
        self._places, self._parts = table
        # Of modules whose part was read and that did not run yet: is it a package, what of ours
        # must run before it, its code.
        self._read: dict[str, tuple[bool, tuple[str, ...], Code]] = {}
        # Takes a sentence for each part that is damaged, and that the sources stand in for.
        self._trouble = trouble
        # Every import statement asks a loaded module's spec whether it is still loading. One says
        # no for all of them; a module without one would cost an exception each time.
        self._spec = ModuleSpec("fairlead", None)

    def load(self, name: str) -> ModuleType:
        """Return this module; afterwards it and what it imports at its top have run."""
        read = self._read
        if name not in read and not self._read_part(name):
            return __import__(name, fromlist=("*",))
        is_package, needs, code = read.pop(name)
        loaded = sys.modules
        for need in needs:
            if need not in loaded and need in self._places:
                self.load(need)
        package, _, last = name.rpartition(".")
        module = loaded[name] = Module(name)
        module.__spec__ = self._spec
        module.__package__ = name if is_package else package
        if is_package:
            # Where the interpreter looks for what the bundle lacks.
            module.__path__ = [f"{self._directory}/{name.replace('.', '/')}"]
        try:
            exec(code, module.__dict__)  # noqa: S102 - our own code
        except BaseException:
            del loaded[name]
            raise
        if package:
            setattr(loaded[package], last, module)
        return module

    def _read_part(self, name: str) -> bool:
        """Read the part that holds this module; return whether it is whole."""
        number = self._places[name]
        at, size, checksum = self._parts[number]
        content = pread(self._file, size, at)
        if source_hash(KEY, content) == checksum:
            self._read.update(loads(content))
            return True
        # From here on the interpreter finds the sources.
        self._places = {one: part for one, part in self._places.items() if part != number}
        self._trouble.append(f"{name} is damaged in the bundle, or what lies with it")
        return False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Say whether a module is here: the first question of an import."""
        if name in self._places:
            return ModuleSpec(name, self)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Answer the second question, for an empty module, with one that has run."""
        return self.load(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to run."""
