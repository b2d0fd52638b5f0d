"""Shapes of messages: which fields each kind has in recordings of other programs, with their types.

A file of shapes has a line for each kind of message: its name, a tab, then PATH:TYPES for each field that it has in every
recording. Types: s, i, d, b, l(ist), o(bject), n(ull). A field below another one is required where that one is an object.
"""


def read_shapes(path):
    with open(path) as f:
        rows = [line.rstrip('\n').split('\t') for line in f]
    return {kind: [tuple(word.rsplit(':', 1)) for word in words.split()] for kind, words in rows}


def letter(v):
    return 'n' if v is None else 'b' if isinstance(v, bool) else 'i' if isinstance(v, int) else 'd' if isinstance(v, float) else \
        's' if isinstance(v, str) else 'l' if isinstance(v, list) else 'o'


def found(v, path):
    """Values at the path; a field that is not there, of an object that is, gives KeyError."""
    name, _, rest = path.partition('.')
    is_list = name.endswith('[]')
    name = name[:-2] if is_list else name
    if not isinstance(v, dict):
        return
    if name not in v:
        raise KeyError(name)
    for it in v[name] or [] if is_list else [v[name]]:
        if rest:
            yield from found(it, rest)
        elif not is_list:
            yield it


def check_shape(shapes, kind, body, otherwise):
    """otherwise: types that a field of this name may have here, besides those of the recordings; '?': it may be missing."""
    for path, types in shapes.get(kind, ()):
        name = path.rsplit('.', 1)[-1]
        types = types + otherwise.get(name, '')
        try:
            for v in found(body, path):
                assert letter(v) in types, f'{kind}: {path} is {v!r}, not {types}'
        except KeyError:
            assert '?' in types, f'{kind} has no {path}: {body}'
