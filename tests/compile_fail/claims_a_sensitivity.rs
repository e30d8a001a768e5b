use rhograd::{
    privacy::{L2, Scope, Sensitivity},
    private::Sensitive,
};

fn claim(values: Vec<i128>, scope: Scope) -> Sensitive<L2> {
    Sensitive { values, sensitivity: Sensitivity::new(0), scope } //~ E0451
}

fn main() {}
