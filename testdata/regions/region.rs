#[path = "../../include/cgemu.rs"]
mod cgemu;

#[inline(never)]
fn work(n: u64) -> u64 {
    let mut x = n | 1;
    for _ in 0..n {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

#[inline(never)]
fn other(n: u64) -> u64 {
    work(n) + 1
}

fn main() {
    let mut sum = other(1000);
    cgemu::start();
    sum ^= work(100000);
    cgemu::dump_at("part");
    sum ^= work(1000);
    cgemu::stop();
    sum ^= other(1000);
    println!("{} {}", cgemu::running(), sum != 0);
}
