# Calls, dictionaries, objects, strings and sorting: what python programs do.
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Point:
    def __init__(self, x):
        self.x = x

    def line(self, y):
        return self.x * y + 1


sums = {}
for i in range(600000):
    sums[i % 1000] = sums.get(i % 1000, 0) + i
lines = [Point(i).line(i) for i in range(250000)]
text = ''.join(sorted(str(x) for x in lines))
print(fib(25), sum(sums.values()), len(text), sum(map(ord, text[:1000])))
