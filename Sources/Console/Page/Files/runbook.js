// A page of the runbook: its text came with it.

import { theme } from "/page/theme.js";

theme();
