use rhograd::privacy::{Adjacency, Charge, L2};
use rhograd::private::{DescribeQuery, Reads, Role, RowAccess};

struct Mine;

impl DescribeQuery for Mine { //~ E0277
    type Norm = L2;

    fn sensitivity(&self, _: Adjacency) -> u64 {
        0
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::StreamedSum, role: Role::Preparation, clip_steps: None, persons: false, labels: false }
    }

    fn is_paid_by(&self, _: &Charge) -> bool {
        true
    }
}

fn main() {}
