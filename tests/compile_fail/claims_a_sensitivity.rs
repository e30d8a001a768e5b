use rhograd::{
    privacy::{L2, Sensitivity},
    private::{DescribeQuery, Sensitive},
};

fn claim(values: Vec<i128>, query: Box<dyn DescribeQuery>, other: Sensitive<L2>) -> Sensitive<L2> {
    Sensitive { values, query, sensitivity: Sensitivity::new(0), ..other } //~ E0451
}

fn main() {}
