import Testing

/// The program as processes, with real servers. One test at a time: each needs the whole machine.
@Suite(.serialized)
enum IntegrationTests {}
