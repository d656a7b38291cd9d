// Tests have child processes, free ports and seeded numbers of the workbench without naming it.
@_exported import Workbench
