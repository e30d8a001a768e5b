use rhograd::{error::Fallible, privacy::Charge, private::Mechanism};

struct Mine;

impl Mechanism for Mine { //~ E0277
    fn of(_: Charge) -> Fallible<Self> {
        Ok(Mine)
    }

    fn charge(&self) -> Charge {
        unreachable!()
    }
}

fn main() {}
