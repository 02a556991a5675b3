"""
Load modules from the bundle, without looking for files.

The interpreter's own way through its finders costs 60 microseconds a module, and a boot has
sixty-five. So what a module imports at its top is loaded before it, straight from the bundle, and
its import statements find it there; only an import inside a function goes the interpreter's way.
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

    # Of each module, marshalled, since most are not asked for: is it a package, what does it import
    # at its top, where does its code begin, how long is it, its checksum. As make.py writes it.
    Table = dict[str, bytes]

# A boot makes little garbage, and looking for it would cost a tenth of a start. What runs longer
# than a boot meets the collector after this many objects, instead of 700.
OBJECTS_BETWEEN_COLLECTIONS = 100_000

# Of the checksums of modules. They find damage; they are no secret and prove no origin.
KEY = 20261116

Module = type(sys)


def start(
    file: int, directory: str, table: Table, trouble: list[str]
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

    __slots__ = ("_directory", "_file", "_spec", "_table", "_trouble")

    def __init__(self, file: int, directory: str, table: Table, trouble: list[str]) -> None:
        self._file = file
        self._directory = directory
        self._table = table
        # Takes a sentence for each module that is damaged, and that its source stands in for.
        self._trouble = trouble
        # Every import statement asks a loaded module's spec whether it is still loading. One says
        # no for all of them; a module without one would cost an exception each time.
        self._spec = ModuleSpec("fairlead", None)

    def load(self, name: str) -> ModuleType:
        """Return this module; afterwards it and what it imports at its top have run."""
        is_package, needs, at, size, checksum = loads(self._table[name])
        code = pread(self._file, size, at)
        if source_hash(KEY, code) != checksum:
            # From here on the interpreter finds the source.
            del self._table[name]
            self._trouble.append(f"{name} is damaged in the bundle")
            return __import__(name, fromlist=("*",))
        loaded = sys.modules
        for need in needs:
            if need not in loaded and need in self._table:
                self.load(need)
        package, _, last = name.rpartition(".")
        module = loaded[name] = Module(name)
        module.__spec__ = self._spec
        module.__package__ = name if is_package else package
        if is_package:
            # Where the interpreter looks for what the bundle lacks.
            module.__path__ = [f"{self._directory}/{name.replace('.', '/')}"]
        try:
            exec(loads(code), module.__dict__)  # noqa: S102 - our own code
        except BaseException:
            del loaded[name]
            raise
        if package:
            setattr(loaded[package], last, module)
        return module

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Say whether a module is here: the first question of an import."""
        if name in self._table:
            return ModuleSpec(name, self, is_package=loads(self._table[name])[0])  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Answer the second question, for an empty module, with one that has run."""
        return self.load(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to run."""
