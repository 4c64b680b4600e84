import type { Server } from "@modelcontextprotocol/server";
import { limits } from "../../contract/limits.ts";
import { quote } from "../../text/show-hidden.ts";
import { nameVisible } from "../tools/toolbox.ts";
import { refuseParams } from "./protocol-errors.ts";
import type { ServerOptions } from "./server-options.ts";

/** Serves MCP prompts: instructions for longer tasks, which users start by name. */

type Prompt = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly tools: readonly string[];
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
  }[];
  readonly write: (given: PromptArguments) => readonly string[];
};

type PromptArguments = Readonly<Record<string, string>>;

const prompts: readonly Prompt[] = [
  {
    name: "launch_campaign",
    title: "Launch a campaign",
    description: "Create a campaign's links, check what their visitors see, and hand them over.",
    tools: ["list_links", "explain_link", "create_link"],
    arguments: [
      { name: "name", description: "Name of the campaign", required: true },
      { name: "url", description: "Web page that its links open", required: true },
      {
        name: "path",
        description: "Path of the link; made from the name if left out",
        required: false,
      },
      { name: "bundle_id", description: "The iOS app to open", required: false },
      { name: "package_name", description: "The Android app to open", required: false },
    ],
    write: ({ name = "", url = "", path, bundle_id, package_name }) => [
      `Launch the campaign ${cite(name)}. Its links open ${cite(url)}.`,
      path === undefined
        ? "Make a path from the campaign's name, and check with list_links that it is free."
        : `Its path is ${cite(path)}; check with list_links that it is free.`,
      ...[bundle_id, package_name].flatMap((app) =>
        app === undefined ? [] : [`It opens the app ${cite(app)}; check that it is registered.`],
      ),
      "Ask me once for everything that is missing: the channels, such as mail or posters,",
      "and the title, text and image that messengers show. Ask me for addresses; never invent " +
        "them.",
      "Make one link for each channel, because clicks are counted per link.",
      "Put campaign parameters such as `utm_source` into each `url`.",
      "Before you create the links, call explain_link with their fields.",
      "Resolve any problems with me first. Then call create_link for each link, or make one plan.",
      "`name` is internal: visitors see `social_title`, else the app's name, else the host.",
      "`enable_forced_redirect` skips the preview page, and so the choice of app or browser.",
      "An image for messengers should be 1200 × 630 pixels.",
      "Show me the preview page, and give me QR codes for everything that is printed.",
      "Finally, give me a table with one row per link: channel, address,",
      "and what visitors see on iOS, Android and desktop.",
      "After the campaign, redirect its links to another page: printed codes stay in use.",
    ],
  },
  {
    name: "audit_links",
    title: "Audit links",
    description: "Find what is broken or missing in links, and propose fixes.",
    tools: ["audit_links"],
    arguments: [
      { name: "about", description: "Only links whose name contains this text", required: false },
    ],
    write: ({ about }) => [
      about === undefined
        ? "Audit the links: call audit_links once. It checks all of them."
        : `Audit links whose name contains ${cite(about)}: call audit_links once with that filter.`,
      "Report each group, the worst first: what is wrong, and how many links are affected.",
      "Say what could not be checked. Change nothing: propose the fixes, and wait for my answer.",
    ],
  },
  {
    name: "connect_app",
    title: "Connect an app",
    description: "Register an app so that links open it, or find out why a link does not.",
    tools: ["list_ios_apps", "list_android_apps", "explain_link", "check_domain"],
    arguments: [
      { name: "bundle_id", description: "The iOS app's bundle ID", required: false },
      { name: "package_name", description: "The Android app's package name", required: false },
    ],
    write: ({ bundle_id, package_name }) => [
      "Connect my app, so that links open it. If a link does not open it, find out why.",
      ...(bundle_id === undefined ? [] : [`iOS: bundle ID ${cite(bundle_id)}.`]),
      ...(package_name === undefined ? [] : [`Android: package name ${cite(package_name)}.`]),
      "Call list_ios_apps and list_android_apps to see what is registered.",
      "Ask me for what is missing, and never invent it.",
      "iOS needs the Team ID and the App Store ID.",
      "Android needs the SHA-256 fingerprints of the signing certificates.",
      "Google signs the apps that Google Play installs: the Play Console shows that key's " +
        "fingerprint.",
      "Check the IDs with me letter by letter: with a wrong Team ID, iOS never opens the app.",
      "Register or correct the app. A new list of fingerprints replaces the old one.",
      "Then call explain_link with the app and an example url, or with the link that fails,",
      "and resolve the problems it reports with me. A link with no app set opens no app.",
      "Call check_domain, and report each error with its fix. Only a public host with https works.",
      "Tell me what is left to do in the app itself: on iOS the Associated Domain `applinks:HOST`,",
      'on Android an intent filter for the host with `android:autoVerify="true"`.',
      "Apple caches the association file for up to a day. Reinstall the app after a change.",
      "If all of this is right, ask how I tested. The app does not open when an address is " +
        "typed in a browser,",
      "or when a link is tapped inside the app or, on iOS, on a page on the same host.",
      "In some in-app browsers, only the Open button on the preview page works.",
      "If visitors use those, leave `enable_forced_redirect` off.",
    ],
  },
  {
    name: "migrate_links",
    title: "Migrate links",
    description: "Move links here from another service, and check that none is lost.",
    tools: [
      "list_ios_apps",
      "list_android_apps",
      "plan_links",
      "apply_plan",
      "get_job",
      "audit_links",
      "explain_link",
    ],
    arguments: [{ name: "from", description: "The service they come from", required: false }],
    write: ({ from }) => [
      from === undefined
        ? "Move my links here from another service."
        : `Move my links here from ${cite(from)}.`,
      "First register the apps that they open: see list_ios_apps and list_android_apps.",
      "Ask me for what is missing, and never invent an id.",
      "Ask me for the service's export, unchanged: CSV or JSON from Firebase Dynamic Links, Bitly,",
      "Branch or Short.io, or a table whose columns are named after link fields.",
      "Call plan_links with operation upsert and the file's text as csv, or its rows.",
      "If the file is too long for one call, ask me to run `waypost import FILE`.",
      "Tell me the counts, then what could not be mapped, then the problems and their line " +
        "numbers.",
      "An update overwrites the existing link at the row's path: ask me first.",
      "Fix what you can with me, and plan again until nothing is invalid.",
      "Then call apply_plan, follow the job with get_job, and report each row that was not " +
        "applied.",
      "Plan the same file again: every row should now be unchanged.",
      "Call audit_links, and check the most visited links with explain_link.",
      "Old addresses still open the old service. To move them, I add the old domain to the " +
        "project,",
      "change its DNS, and list the domain in the apps.",
      "Firebase's `page.link` domains cannot be moved: publish those links' new addresses instead.",
      "If links redirect to the old domain, plan an update that replaces the host in every field.",
      "To undo the whole import, plan to undo the job.",
    ],
  },
];

/** A key sees a prompt only if it can use all of the prompt's tools. */
export function servePrompts(server: Server, { toolbox, keyContext }: ServerOptions): void {
  const listOffered = () => {
    const names = nameVisible(toolbox, keyContext);
    return prompts.filter(({ tools }) => tools.every((tool) => names.has(tool)));
  };
  server.setRequestHandler("prompts/list", () => ({
    prompts: listOffered().map(({ name, title, description, arguments: known }) => {
      return { name, title, description, arguments: [...known] };
    }),
  }));
  server.setRequestHandler("prompts/get", (request) => {
    const { name, arguments: given = {} } = request.params;
    const prompt = listOffered().find((known) => known.name === name);
    if (prompt === undefined) throw refuseParams(`Unknown prompt ${quote(name)}.`);
    checkArguments(prompt, given);
    const filled = Object.entries(given).filter(([, value]) => value.trim() !== "");
    const text = prompt.write(Object.fromEntries(filled)).join("\n");
    return {
      description: prompt.description,
      messages: [{ role: "user", content: { type: "text", text } }],
    };
  });
}

function checkArguments({ arguments: known }: Prompt, given: PromptArguments): void {
  const names = known.map(({ name }) => name);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw refuseParams(`Unknown argument ${quote(unknown)}. Known arguments: ${names.join(", ")}.`);
  }
  const missing = known.find(({ name, required }) => required && !given[name]?.trim());
  if (missing !== undefined) throw refuseParams(`The argument ${missing.name} is required.`);
}

/** Quotes the user's text without truncation, because a truncated URL would be wrong. */
function cite(text: string): string {
  return quote(text, limits.web_address_characters);
}
