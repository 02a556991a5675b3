#!/usr/bin/python3 -ISXutf8
# Starts the agent from its bundle; src/fairlead/agent/bundle says what that is. Every start
# compiles this text, so it is short, and what few starts need is a string that only they compile.
import marshal
import posix
import sys
from _frozen_importlib_external import MAGIC_NUMBER
from _imp import source_hash

KEY = 0  # of the sources beside this program; build_agent.py writes it
# A link starts what it points to; otherwise the sources run, and the record says why.
OTHERWISE = """
home = __file__
try:
    while link := posix.readlink(home):
        home = link if link[0] == "/" else home[: home.rfind("/") + 1] + link
except OSError:  # no link, or none any more
    pass
if home != __file__:
    __file__ = home
    with open(home) as program:
        exec(program.read())
sys.dont_write_bytecode = True
sys.path.append(home + ".d")
from fairlead.agent.main import main
"""
trouble = []  # type: list[str]
try:
    file = posix.open(f"{__file__}.d/{sys.implementation.cache_tag}.bundle", posix.O_CLOEXEC)
    block = posix.read(file, 24576)
    if block[:12] != MAGIC_NUMBER + source_hash(KEY, block[12:]):
        raise ValueError("the bundle is damaged, or of other sources, or of another Python")
    space = marshal.loads(block[12:])
    exec(space["code"], space)
    main = space["start"](file, __file__ + ".d", space["table"], trouble)
except Exception as error:
    trouble.append(str(error))
    exec(OTHERWISE)
posix._exit(main(trouble))
