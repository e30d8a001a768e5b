use rhograd::private::PrivateDataset;

fn rows(data: &PrivateDataset) -> usize {
    data.rows.len()
}

fn main() {}
