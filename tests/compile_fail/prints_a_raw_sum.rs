use rhograd::{privacy::L2, private::Sensitive};

fn print(sum: Sensitive<L2>) {
    println!("{sum:?}"); //~ E0277
}

fn main() {}
