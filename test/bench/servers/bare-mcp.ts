import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createBareTools } from "./bare-tools.ts";

/** The bare server: what the SDK costs over stdio. */

serveStdio(createBareTools);
