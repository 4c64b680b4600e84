import type { Server } from "@modelcontextprotocol/server";
import { limits } from "../../contract/limits.ts";
import { quote } from "../../text/show-hidden.ts";
import { leadsAway } from "../tools/keep-to-tools.ts";
import { findAbsent } from "../tools/toolbox.ts";
import { refuseParams } from "./protocol-errors.ts";
import type { ServerOptions } from "./server-options.ts";

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
      `Launch the campaign ${cite(name)} that leads to ${cite(url)}.`,
      path === undefined
        ? "Choose a short path from its name, and look with list_links whether it is free."
        : `Its path is ${cite(path)}; look with list_links whether it is free.`,
      ...[bundle_id, package_name].flatMap((app) =>
        app === undefined ? [] : [`It opens the app ${cite(app)}; check that it is registered.`],
      ),
      "Before you create it, call explain_link with its fields, and settle its problems with me.",
      "Then create it and give me its address.",
      "Tell me in a line each what visitors on iOS, Android and a desktop meet.",
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
        ? "Audit the links: call audit_links once, which looks at all of them."
        : `Audit the links whose name contains ${cite(about)}: call audit_links once, so filtered.`,
      "Report each of its groups, the worst first: what is wrong, and with how many links.",
      "Say what it could not check. Change nothing: propose its fixes, and wait for me.",
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
      ...(bundle_id === undefined ? [] : [`iOS: bundle id ${cite(bundle_id)}.`]),
      ...(package_name === undefined ? [] : [`Android: package name ${cite(package_name)}.`]),
      "See what is registered with list_ios_apps and list_android_apps.",
      "Ask me for what is missing: for iOS the team id and the App Store id,",
      "for Android the SHA-256 fingerprints of the signing certificates.",
      "Register it, then call explain_link with the app and an example url,",
      "and tell me what is left to do in the app itself.",
    ],
  },
  {
    name: "migrate_links",
    title: "Migrate links",
    description: "Bring links over from another service, and check that none is lost.",
    arguments: [{ name: "from", description: "The service that they come from", required: false }],
    write: ({ from }) => [
      from === undefined
        ? "Bring my links over from another service."
        : `Bring my links over from ${cite(from)}.`,
      "Ask me for its export: CSV or JSON of Firebase Dynamic Links, Bitly, Branch, Short.io,",
      "or a table whose columns are named like the fields of a link.",
      "Call plan_links with operation upsert and the file's text as csv, or its rows.",
      "A file that is too long to pass on is for me to bring in, with `waypost import FILE`.",
      "Tell me the counts, what could not be mapped, and the problems by their lines;",
      "mend with me what can be mended, and plan again until nothing is invalid.",
      "Then call apply_plan, watch it with get_job, and tell me of each row that was not done.",
      "Last, plan the same once more, which should find every row unchanged,",
      "and look at some of the links with explain_link.",
    ],
  },
];

/** Those whose every tool the key has: half a way of working is none. */
export function servePrompts(server: Server, { toolbox, keyContext }: ServerOptions): void {
  const listOffered = () => {
    const isAbsent = findAbsent(toolbox, keyContext);
    return prompts.filter((prompt) => !leadsAway(writeSample(prompt), isAbsent));
  };
  server.setRequestHandler("prompts/list", () => ({
    prompts: listOffered().map(({ name, title, description, arguments: known }) => {
      return { name, title, description, arguments: [...known] };
    }),
  }));
  server.setRequestHandler("prompts/get", (request) => {
    const { name, arguments: given = {} } = request.params;
    const prompt = listOffered().find((known) => known.name === name);
    if (prompt === undefined) throw refuseParams(`There is no prompt ${quote(name)}.`);
    checkArguments(prompt, given);
    const filled = Object.entries(given).filter(([, value]) => value.trim() !== "");
    const text = prompt.write(Object.fromEntries(filled)).join("\n");
    return {
      description: prompt.description,
      messages: [{ role: "user", content: { type: "text", text } }],
    };
  });
}

/** With every argument, which names every tool. */
function writeSample({ arguments: known, write }: Prompt): string {
  return write(Object.fromEntries(known.map(({ name }) => [name, "x"]))).join("\n");
}

function checkArguments({ arguments: known }: Prompt, given: Given): void {
  const names = known.map(({ name }) => name);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw refuseParams(`There is no argument ${quote(unknown)}; known are ${names.join(", ")}.`);
  }
  const missing = known.find(({ name, required }) => required && !given[name]?.trim());
  if (missing !== undefined) throw refuseParams(`The argument ${missing.name} is required.`);
}

/** The person's text, whole: an address that was cut would be the wrong one. */
function cite(text: string): string {
  return quote(text, limits.web_address_characters);
}
