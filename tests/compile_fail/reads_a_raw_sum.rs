use rhograd::{privacy::L2, private::Sensitive};

fn read(sum: Sensitive<L2>) -> Vec<i128> {
    sum.values //~ E0616
}

fn main() {}
