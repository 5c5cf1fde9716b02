# SPDX-License-Identifier: Apache-2.0
"""Random number generators that modules create when they are imported: in all copies of an interpreter they would produce the same
numbers. Executed by sitecustomize.py of an interpreter that is to be copied, in a dictionary of its own; it is no module.

A generator whose state differs between two imports is seeded anew in each copy. One whose state is the same in both was seeded on
purpose, and stays. The second import is made by a twin: another interpreter that imports the same modules and ends. Generators are
compared by their states alone, as two states from random seeds are never equal."""
import _imp
import sys


class CannotBeSeeded(Exception):
    """names: the modules that have created it."""

    def __init__(self, names):
        super().__init__(names)
        self.names = names


class Generator:
    """state(): determines its next numbers; seed(): from the kernel's random numbers."""

    def __init__(self, thing, state, seed):
        self.thing, self.state, self.seed = thing, state, seed

    def digest(self):
        """None where its state cannot be read."""
        try:
            return _imp.source_hash(0, repr(_flatten(self.state())).encode()).hex()
        except Exception:
            return None

    def can_be_seeded(self):
        before = self.digest()
        try:
            self.seed()
        except Exception:
            return False
        return before is not None and self.digest() != before


def _flatten(state):
    """Arrays are printed in full."""
    if isinstance(state, dict):
        return [(name, _flatten(value)) for name, value in sorted(state.items())]
    if isinstance(state, (list, tuple)):
        return [_flatten(value) for value in state]
    return state.tobytes() if hasattr(state, "tobytes") else state


def _of_random(module):
    def make(thing):
        return Generator(thing, thing.getstate, thing.seed)
    return [(lambda thing: isinstance(thing, module.Random) and not isinstance(thing, module.SystemRandom), make)]


def _of_numpy(module):
    def make_sequence(thing):
        """Includes the number of generators that were spawned from it."""
        return Generator(thing, lambda: (thing.entropy, thing.spawn_key, thing.n_children_spawned),
                         lambda: thing.__init__(spawn_key=thing.spawn_key, pool_size=thing.pool_size))

    def make_bits(thing):
        return Generator(thing, lambda: thing.state, thing.__init__)

    def make_legacy(thing):
        def seed():
            thing._bit_generator.__init__()
            state = thing.get_state(legacy=False)
            if state["has_gauss"]:
                thing.set_state({**state, "has_gauss": 0, "gauss": 0.0})
        return Generator(thing, lambda: thing.get_state(legacy=False), seed)
    kinds = (("SeedSequence", make_sequence), ("BitGenerator", make_bits), ("RandomState", make_legacy))
    return [(lambda thing, kind=getattr(module, name): isinstance(thing, kind), make) for name, make in kinds if hasattr(module, name)]


def _of_multiprocessing(module):
    def make(thing):
        def seed():
            thing._config["authkey"] = type(thing._config["authkey"])(__import__("posix").urandom(32))
        return Generator(thing, lambda: bytes(thing._config["authkey"]), seed)
    return [(lambda thing: isinstance(thing, module.BaseProcess) and "authkey" in getattr(thing, "_config", ()), make)]


_KINDS = {"random": _of_random, "numpy.random": _of_numpy, "multiprocessing.process": _of_multiprocessing}


def find():
    """All generators that there are."""
    known = "gc" in sys.modules
    import gc
    kinds = [kind for name, kinds_of in _KINDS.items() if name in sys.modules for kind in kinds_of(sys.modules[name])]
    found = []
    for thing in gc.get_objects() if kinds else ():
        for is_one, make in kinds:
            try:
                if is_one(thing):
                    found.append(make(thing))
            except Exception:  # a proxy that raises when its class is read
                pass
    if not known:
        del sys.modules["gc"]
    return found


def digests():
    """Called in the twin."""
    return sorted(generator.digest() or "" for generator in find())


class Watch:
    """Notes during the imports which module has created which generator."""

    def __init__(self):
        self.owners = {}
        self.things = []  # referenced, so that no id is used again

    def note(self, name):
        """The module of that name was imported last."""
        for generator in find():
            if id(generator.thing) not in self.owners:
                self.owners[id(generator.thing)] = name
                self.things.append(generator.thing)

    def changing(self, twins):
        """The generators to be seeded in each copy, given the twin's digests."""
        generators = [generator for generator in find() if generator.digest() is None or generator.digest() not in twins]
        names = {self.owners.get(id(generator.thing)) for generator in generators if not generator.can_be_seeded()}
        self.things.clear()
        if names:
            raise CannotBeSeeded(names)
        return generators
