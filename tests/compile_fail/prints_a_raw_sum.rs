use rhograd::{privacy::L2, private::Sensitive};

fn print(sum: Sensitive<L2>) {
    println!("{sum:?}");
}

fn main() {}
