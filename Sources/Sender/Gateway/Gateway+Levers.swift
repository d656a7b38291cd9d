import PipelineCore

/// Topics that an operator holds back.
extension Gateway {
    /// Takes back all notifications of a topic that no connection has taken, to be fed anew under its levers. Those in
    /// flight settle.
    func recall(_ topic: Topic) {
        let lanes = lanes(of: topic)
        topic.flow.recall()
        lanes.transport.suspend()
    }
}
