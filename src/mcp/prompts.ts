import { ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import { quote } from "./inert.ts";

/** Ways of working that a person starts by name. */

type Prompt = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
  }[];
  readonly write: (given: Given) => readonly string[];
};

type Given = Readonly<Record<string, string>>;

const prompts: readonly Prompt[] = [
  {
    name: "launch_campaign",
    title: "Launch a campaign",
    description: "Make the link of a campaign, check what its visitors meet, and hand it over.",
    arguments: [
      { name: "name", description: "What the campaign is called", required: true },
      { name: "url", description: "The page that it leads to", required: true },
      {
        name: "path",
        description: "The link's path; made from the name if left out",
        required: false,
      },
      { name: "bundle_id", description: "The iOS app to open", required: false },
      { name: "package_name", description: "The Android app to open", required: false },
    ],
    write: ({ name = "", url = "", path, bundle_id, package_name }) => [
      `Launch the campaign ${quote(name)} that leads to ${quote(url)}.`,
      path === undefined
        ? "Choose a short path from its name, and look with list_links whether it is free."
        : `Its path is ${quote(path)}; look with list_links whether it is free.`,
      ...[bundle_id, package_name].flatMap((app) =>
        app === undefined ? [] : [`It opens the app ${quote(app)}; check that it is registered.`],
      ),
      "Before you create it, call explain_link with its fields and settle every problem it names with me.",
      "Then create it, give me its address, and tell me in a line each what visitors on iOS, Android and a desktop meet.",
    ],
  },
  {
    name: "audit_links",
    title: "Audit links",
    description: "Look through links for what is broken or missing, and propose repairs.",
    arguments: [
      { name: "about", description: "Only links whose name has this text", required: false },
    ],
    write: ({ about }) => [
      about === undefined
        ? "Audit the links, those with the most clicks first."
        : `Audit the links whose name contains ${quote(about)}, those with the most clicks first.`,
      "Read them page by page with list_links, and call explain_link for each (for the first 50, if there are more).",
      "Report the problems grouped by kind, with the links concerned and their clicks. Change nothing: propose repairs and wait for me.",
    ],
  },
  {
    name: "connect_app",
    title: "Connect an app",
    description: "Register an app so that links open it, and check what is still missing.",
    arguments: [
      { name: "bundle_id", description: "The iOS app's bundle id", required: false },
      { name: "package_name", description: "The Android app's package name", required: false },
    ],
    write: ({ bundle_id, package_name }) => [
      "Connect my app, so that links open it.",
      ...(bundle_id === undefined ? [] : [`iOS: bundle id ${quote(bundle_id)}.`]),
      ...(package_name === undefined ? [] : [`Android: package name ${quote(package_name)}.`]),
      "See what is registered with list_ios_apps and list_android_apps. Ask me for what is missing: for iOS the team id and the App Store id, for Android the SHA-256 fingerprints of the signing certificates.",
      "Register it, then call explain_link with the app and an example url, and tell me what is left to do in the app itself.",
    ],
  },
];

export function servePrompts(server: Server): void {
  server.setRequestHandler("prompts/list", () => ({
    prompts: prompts.map(({ write: _, ...prompt }) => ({
      ...prompt,
      arguments: [...prompt.arguments],
    })),
  }));
  server.setRequestHandler("prompts/get", (request) => {
    const { name, arguments: given = {} } = request.params;
    const prompt = prompts.find((known) => known.name === name);
    if (prompt === undefined) throw refuse(`There is no prompt ${quote(name)}.`);
    checkGiven(prompt, given);
    const filled = Object.entries(given).filter(([, value]) => value.trim() !== "");
    const text = prompt.write(Object.fromEntries(filled)).join("\n");
    return {
      description: prompt.description,
      messages: [{ role: "user", content: { type: "text", text } }],
    };
  });
}

function checkGiven({ arguments: known }: Prompt, given: Given): void {
  const names = known.map(({ name }) => name);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw refuse(`There is no argument ${quote(unknown)}; known are ${names.join(", ")}.`);
  }
  const missing = known.find(({ name, required }) => required && !given[name]?.trim());
  if (missing !== undefined) throw refuse(`The argument ${missing.name} is required.`);
}

function refuse(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
