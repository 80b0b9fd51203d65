"""Breaks the paragraphs of standard input into lines that are about as long as each other."""

import sys

WIDTH = 60


def badness(lengths, i, j):
    """How much is left at the end of a line that has the words i to j."""
    length = sum(lengths[i:j]) + (j - i - 1)
    return (WIDTH - length) ** 3 if length <= WIDTH else float("inf")


def wrap(words):
    lengths = [len(w) for w in words]
    best, after = [0] * (len(words) + 1), [0] * (len(words) + 1)
    for i in range(len(words) - 1, -1, -1):
        best[i] = float("inf")
        for j in range(i + 1, min(i + WIDTH // 2, len(words)) + 1):
            bad = badness(lengths, i, j)
            if bad == float("inf"):
                break
            if bad + best[j] < best[i]:
                best[i], after[i] = bad + best[j], j
    i = 0
    while i < len(words):
        yield " ".join(words[i : after[i]])
        i = after[i]


for paragraph in sys.stdin.read().split("\n\n"):
    print("\n".join(wrap(paragraph.split())), end="\n\n")
