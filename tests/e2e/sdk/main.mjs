// Runs the cases: node main.mjs BUILD INSTALLED [WORD…]. README.md says more.
import { run_cases } from './harness.mjs';
import './agents.mjs';
import './answers.mjs';
import './permissions.mjs';
import './hooks.mjs';
import './sessions.mjs';
import './steering.mjs';
import './matrix.mjs';

process.exit((await run_cases(process.argv.slice(4), 4)) ? 1 : 0);
