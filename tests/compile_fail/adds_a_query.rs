use rhograd::privacy::{Adjacency, Charge, L2};
use rhograd::private::{DescribeQuery, Role, RowAccess};

struct Mine;

impl DescribeQuery for Mine { //~ E0277
    type Norm = L2;

    fn sensitivity(&self, _: Adjacency) -> u64 {
        0
    }

    fn row_access(&self) -> RowAccess {
        RowAccess::StreamedSum
    }

    fn is_paid_by(&self, _: &Charge) -> bool {
        true
    }

    fn role(&self) -> Role {
        Role::Preparation
    }
}

fn main() {}
