import type {
  CallToolResult,
  GetPromptResult,
  InputRequiredResult,
  Server,
  ServerContext,
  Tool,
} from "@modelcontextprotocol/server";
import type { KeyContext } from "../../src/mcp/access/key-context.ts";

/** Types of the fixtures that the conformance suite requires of a server. */

export type Given = Readonly<Record<string, unknown>>;

/** A request as it reached the real server, and what its key may see. */
export type FixtureCall = {
  readonly context: ServerContext;
  readonly keyContext: KeyContext;
  readonly server: Server;
  /** Calls a tool of the real server as the same client. */
  readonly callTool: (name: string, given: Given) => Promise<CallToolResult>;
};

type FixtureResult<Result> = Result | InputRequiredResult | Promise<Result | InputRequiredResult>;

export type FixtureTool = {
  readonly name: string;
  readonly inputSchema?: Tool["inputSchema"];
  readonly run: (given: Given, asked: FixtureCall) => FixtureResult<CallToolResult>;
};

export type FixturePrompt = {
  readonly name: string;
  readonly takes?: readonly string[];
  readonly write: (given: Given, asked: FixtureCall) => FixtureResult<GetPromptResult>;
};

/** A picture of one pixel. */
export const picture = {
  data: [
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "AAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==",
  ].join(""),
  mimeType: "image/png",
} as const;

export function say(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
