import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";

/** Reads the pages of docs/. The build puts them next to the program, as Markdown and as HTML. */

/** Set by the build. When running from source, the pages of the last build are used. */
declare const WAYPOST_DOCS: string;

export const docsFolder = new URL(
  typeof WAYPOST_DOCS === "undefined" ? "../../dist/docs/" : WAYPOST_DOCS,
  import.meta.url,
);

/** `name` is the file's path without extension, such as `getting-started` or `reference/tools`. */
export type HelpTopic = { readonly name: string; readonly title: string };

/** Returns an empty list if the program was copied without its pages. */
export async function listHelpTopics(): Promise<readonly HelpTopic[]> {
  const file = new URL("topics.json", docsFolder);
  return existsSync(file) ? JSON.parse(await readFile(file, "utf8")) : [];
}

/** Reads the OpenAPI document of the REST API, which the build generates from the contract. */
export function readApiDescription(): Promise<string> {
  return readFile(new URL("../openapi.json", docsFolder), "utf8");
}

/** Reads llms.txt, the text for assistants that visit the server. */
export function readLlmsText(): Promise<string> {
  return readFile(new URL("llms.txt", docsFolder), "utf8");
}

/**
 * Finds a topic by its name, with or without `reference/`, or by a word in the name or title of
 * only one topic. Returns undefined if no topic matches.
 */
export async function readHelpTopic(
  name: string,
  format: "md" | "html",
): Promise<(HelpTopic & { readonly text: string }) | undefined> {
  const topics = await listHelpTopics();
  const named = topics.find((other) => other.name === name || other.name === `reference/${name}`);
  const [topic, ...others] = named ? [named] : topics.filter((other) => hasWord(other, name));
  if (topic === undefined || others.length > 0) return undefined;
  return { ...topic, text: await readFile(new URL(`${topic.name}.${format}`, docsFolder), "utf8") };
}

function hasWord({ name, title }: HelpTopic, word: string): boolean {
  return `${name} ${title}`
    .toLowerCase()
    .split(/[^a-z]+/)
    .includes(word.toLowerCase());
}
