use rhograd::{
    privacy::{L2, Scope, Sensitivity},
    private::{DescribeQuery, Sensitive},
};

fn claim(values: Vec<i128>, query: Box<dyn DescribeQuery>, scope: Scope) -> Sensitive<L2> {
    Sensitive { values, query, sensitivity: Sensitivity::new(0), scope } //~ E0451
}

fn main() {}
