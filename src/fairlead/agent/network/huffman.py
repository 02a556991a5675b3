"""
The Huffman code of HTTP/2 headers (RFC 7541, appendix B), decoded.

The code is canonical, so the lengths of its words say all of it: words of one length follow each
other in the order of what they stand for, shorter ones first.
"""

from __future__ import annotations

SHORTEST = 5

# For each byte, and then for the end of the text: how many bits longer than SHORTEST, as a letter.
LENGTHS = (
    "isxxxxxxxtzxxzxxxxxxxxzxxxxxxxxxbffhibdgffdgdbbbaaabbbbbbbcdkbhfibcccccccccccccccccccc"
    "ccdcdioijbkabababbbaccbbbabcbaabccccckgjixprpprrrsrssssststtrstssssqrsrsstrqprrssqsrrt"
    "qrssqqrqsrssprrrsrrsvvporsruvvvwwvtuoqvwwvwtqqvvxwwwptpqrqqsrruuttvsvwvvwwwwwxwwwwwvz"
)

END = 256

# What fills the last byte is the beginning of the word for the end: ones, fewer than eight.
LONGEST_FILLING = 7


def _words() -> dict[tuple[int, int], int]:
    """Return what every word stands for, by its length and its bits."""
    words: dict[tuple[int, int], int] = {}
    word = 0
    for letter in "abcdefghijklmnopqrstuvwxyz":
        length = SHORTEST + ord(letter) - ord("a")
        word <<= 1
        for symbol, found in enumerate(LENGTHS):
            if found == letter:
                words[length, word] = symbol
                word += 1
    return words


WORDS = _words()


def decode_huffman(text: bytes) -> bytes:
    """Return what was encoded. Raises OSError for what no encoder writes."""
    decoded = bytearray()
    word = length = 0
    for byte in text:
        for shift in range(7, -1, -1):
            word = word << 1 | byte >> shift & 1
            length += 1
            symbol = WORDS.get((length, word))
            if symbol is None:
                continue
            if symbol == END:
                raise OSError("a header holds the end of a Huffman text inside of it")
            decoded.append(symbol)
            word = length = 0
    if length > LONGEST_FILLING or word != (1 << length) - 1:
        raise OSError("a Huffman text in a header does not end where it should")
    return bytes(decoded)
