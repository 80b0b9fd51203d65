# Hashes, sorting, regular expressions and calls: what perl programs do.
my (%h, $s);
for my $i (1 .. 600000) {
    my $k = ($i * 7919) % 10007;
    $h{$k} .= chr(65 + $i % 26) if length($h{$k} // '') < 100;
    $s += length $h{$k};
}
my @a = sort { $h{$a} cmp $h{$b} || $a <=> $b } keys %h;
my $t = join ',', @a;
my $c = 0;
while ($t =~ /(\d+)1,(\d)/g) { $c += $2 }
sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
print "$s $c ", fib(24), "\n";
