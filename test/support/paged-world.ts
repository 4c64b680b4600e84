import { createPageServer } from "../../src/mcp/approval/page-server.ts";
import { approvalPath } from "../../src/mcp/approval/page.ts";
import {
  createAssistantWorld,
  type AssistantOptions,
  type AssistantWorld,
} from "./assistant-world.ts";

/** An assistant's world whose approval pages are at a port, where a browser can open them. */
export async function createPagedWorld(options: AssistantOptions = {}): Promise<AssistantWorld> {
  const listener = createPageServer((request) => assistant.fetchPage(request));
  const openPage = (id: string) => listener.open(approvalPath, id);
  const assistant = await createAssistantWorld({ ...options, openPage });
  return {
    ...assistant,
    [Symbol.asyncDispose]: async () => {
      listener.close();
      await assistant[Symbol.asyncDispose]();
    },
  };
}
