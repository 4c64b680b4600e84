import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createBareTools } from "./bare-tools.ts";

/** The bare MCP server over stdio. */

serveStdio(createBareTools);
