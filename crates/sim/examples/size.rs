fn main() {
    println!("sender {} receiver {} segment {}", size_of::<narrows_transport::tcp::Sender>(), size_of::<narrows_transport::tcp::Receiver>(), size_of::<narrows_transport::Segment>());
    println!("fifo {}", size_of::<narrows_router::Fifo>());
}
