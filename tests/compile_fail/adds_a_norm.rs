use rhograd::privacy::Norm;

enum Mine {}

impl Norm for Mine { //~ E0277
    const NAME: &'static str = "mine";
}

fn main() {}
