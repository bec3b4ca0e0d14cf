"""judge_random.py PROGRAM FIRST_SEED SEEDS: parses random_page's pages, compares what it expects."""

import subprocess
import sys
import tempfile
from fractions import Fraction

import judge


def run(program, seed, format):
    """The page and the list of expected samples, both as bytes."""
    with tempfile.NamedTemporaryFile() as file:
        page = subprocess.run(
            ["/bin/sh", "-c", 'exec "$0" "$1" "$2" 3>"$3"', program, str(seed), format, file.name],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        return page, file.read()


def value_of(text):
    kind, number = text[0], text[1:]
    if kind == "d":
        return Fraction(float.fromhex(number))
    return Fraction(int(number), 10**9 if kind == "n" else 1)


def same(got, want):
    """The parsers give integers as they are and all else as the nearest double."""
    if got is None or want is None:
        return False
    return got == want if isinstance(got, int) else got == float(want)


def expected_samples(lines):
    samples = {}
    for line in lines.decode().splitlines():
        name, labels, value = line.split("\t")
        pairs = (label.split("=") for label in labels.split(",") if label)
        key = (name, tuple(sorted((n, bytes.fromhex(v).decode()) for n, v in pairs)))
        assert key not in samples, f"expected twice: {key}"
        samples[key] = value_of(value)
    return samples


def parsed_samples(page, format):
    samples = {}
    for family in judge.parse(page.decode(), format):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in samples, f"twice on the page: {key}"
            samples[key] = sample.value
    return samples


def main():
    program, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    total = 0
    for seed in range(first, first + count):
        for format in ("text", "openmetrics"):
            page, lines = run(program, seed, format)
            try:
                got, want = parsed_samples(page, format), expected_samples(lines)
            except (ValueError, AssertionError) as error:
                sys.exit(f"seed {seed}, {format}: {error!r}")
            for key in got.keys() | want.keys():
                if not same(got.get(key), want.get(key)):
                    sys.exit(f"seed {seed}, {format}: {key}: {got.get(key)}, not {want.get(key)}")
            total += len(got)
    print(f"{count} snapshots in both formats, {total} samples")


if __name__ == "__main__":
    main()
