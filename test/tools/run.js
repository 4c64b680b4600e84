import { installTestPackages, runTool } from "./test-packages.js";

/** `node test/tools/run.js prettier --write .` runs a command of the packages under `test`. */

const [command, ...words] = process.argv.slice(2);
installTestPackages();
process.exitCode = runTool(command, words);
