#!/usr/bin/python3 -IS
# Starts the agent from its bundle; from its sources where the bundle cannot be used, and says so.
# src/fairlead/agent/bundle says what a bundle is. Every start compiles this text: it stays short.
import marshal
import posix
import sys
from _frozen_importlib_external import MAGIC_NUMBER
from _imp import source_hash

KEY = 0  # of the sources beside this program; build_agent.py writes it
home, trouble = __file__, [""][:0]
try:
    while link := posix.readlink(home):
        home = link if link[0] == "/" else home[: home.rfind("/") + 1] + link
except OSError:
    home += ".d"  # what is no link is this program itself
try:
    file = posix.open(home + "/" + sys.implementation.cache_tag + ".bundle", posix.O_CLOEXEC)
    block = posix.read(file, 32768)
    if block[:12] != MAGIC_NUMBER + source_hash(KEY, block[12:]):
        raise ValueError("the bundle is damaged, or of other sources, or of another Python")
    space = marshal.loads(block[12:])
    exec(space["code"], space)
    main = space["start"](file, home, space["table"], trouble)
except Exception as error:
    sys.dont_write_bytecode = True
    sys.path.append(home)
    trouble.append(str(error))
    from fairlead.agent.main import main
posix._exit(main(trouble))
