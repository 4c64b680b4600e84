import { acceptedContent, inputRequired, type GetPromptResult } from "@modelcontextprotocol/server";
import { picture, type FixturePrompt } from "./fixture.ts";

type Message = GetPromptResult["messages"][number];

export const prompts: readonly FixturePrompt[] = [
  {
    name: "test_simple_prompt",
    write: () => ({ messages: [speak("This is a simple prompt for testing.")] }),
  },
  {
    name: "test_prompt_with_arguments",
    takes: ["arg1", "arg2"],
    write: ({ arg1, arg2 }) => ({
      messages: [speak(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`)],
    }),
  },
  {
    name: "test_prompt_with_embedded_resource",
    takes: ["resourceUri"],
    write: ({ resourceUri }) => ({
      messages: [
        {
          role: "user",
          content: {
            type: "resource",
            resource: {
              uri: String(resourceUri),
              mimeType: "text/plain",
              text: "Embedded resource content for testing.",
            },
          },
        },
        speak("Please process the embedded resource above."),
      ],
    }),
  },
  {
    name: "test_prompt_with_image",
    write: () => ({
      messages: [
        { role: "user", content: { type: "image", ...picture } },
        speak("Please analyze the image above."),
      ],
    }),
  },
  {
    name: "test_input_required_result_prompt",
    write: (_given, { context }) => {
      const given = acceptedContent(context.mcpReq.inputResponses, "user_context");
      if (given !== undefined) return { messages: [speak(`Context: ${String(given["context"])}`)] };
      const user_context = inputRequired.elicit({
        message: "What context should the prompt use?",
        requestedSchema: {
          type: "object",
          properties: { context: { type: "string" } },
          required: ["context"],
        },
      });
      return inputRequired({ inputRequests: { user_context } });
    },
  },
];

function speak(text: string): Message {
  return { role: "user", content: { type: "text", text } };
}
