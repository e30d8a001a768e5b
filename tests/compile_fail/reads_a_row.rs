use rhograd::private::PrivateDataset;

fn rows(data: &PrivateDataset) -> usize {
    data.rows.len() //~ E0616
}

fn main() {}
