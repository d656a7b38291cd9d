import Testing

/// The program as processes, with real servers. One test at a time in each run: each starts up to ten processes.
@Suite(.serialized)
enum IntegrationTests {}
