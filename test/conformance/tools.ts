import type { KeyFacts } from "../../src/contract/access.ts";
import { picture, say, type FixtureTool } from "./fixture.ts";
import { toolsThatAsk } from "./tools-that-ask.ts";
import { toolsWithTasks } from "./tools-with-tasks.ts";

/** The suite's tools for clients of every revision. */

const sound = {
  data: "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==",
  mimeType: "audio/wav",
} as const;

const simple: readonly FixtureTool[] = [
  {
    name: "test_simple_text",
    run: () => say("This is a simple text response for testing."),
  },
  {
    name: "test_image_content",
    run: () => ({ content: [{ type: "image", ...picture }] }),
  },
  {
    name: "test_audio_content",
    run: () => ({ content: [{ type: "audio", ...sound }] }),
  },
  {
    name: "test_embedded_resource",
    run: () => ({
      content: [
        {
          type: "resource",
          resource: {
            uri: "test://embedded-resource",
            mimeType: "text/plain",
            text: "This is an embedded resource content.",
          },
        },
      ],
    }),
  },
  {
    name: "test_multiple_content_types",
    run: () => ({
      content: [
        { type: "text", text: "Multiple content types test:" },
        { type: "image", ...picture },
        {
          type: "resource",
          resource: {
            uri: "test://mixed-content-resource",
            mimeType: "application/json",
            text: JSON.stringify({ test: "data", value: 123 }),
          },
        },
      ],
    }),
  },
  {
    name: "test_error_handling",
    run: () => ({
      ...say("This tool intentionally returns an error for testing"),
      isError: true,
    }),
  },
];

const owner = { kind: "project", role: "owner", plan: "pro", suspended: false } as const;

/** Each shows other tools. */
const turns: readonly KeyFacts[] = [
  { ...owner, scopes: ["links.show"] },
  { ...owner, scopes: ["links.index"] },
];

/** Tools that send notifications or change the list of tools. */
const lively: readonly FixtureTool[] = [
  {
    name: "test_tool_with_progress",
    run: async (_given, { context: { mcpReq } }) => {
      const { _meta: { progressToken } = {} } = mcpReq;
      for (const progress of [0, 50, 100]) {
        if (progressToken === undefined) continue;
        const params = { progressToken, progress, total: 100 };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      return say("Done.");
    },
  },
  {
    name: "test_logging_tool",
    run: async (_given, { context }) => {
      await context.mcpReq.log("info", "This line was not requested.");
      return say("Done.");
    },
  },
  {
    name: "test_trigger_tool_change",
    run: (_given, { keyContext }) => {
      // Sets both in turn, so that each call changes something.
      for (const facts of turns) keyContext.access.setFacts(facts);
      return say("The list of tools has changed.");
    },
  },
];

/** A schema that must reach the client unchanged. */
const described: readonly FixtureTool[] = [
  {
    name: "json_schema_2020_12_tool",
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      // A schema is not a promise, despite its keyword.
      // oxlint-disable-next-line unicorn/no-thenable
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
    run: () => say("Done."),
  },
];

export const tools: readonly FixtureTool[] = [
  ...simple,
  ...lively,
  ...described,
  ...toolsThatAsk,
  ...toolsWithTasks,
];
