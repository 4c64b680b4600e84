import type { Server } from "@modelcontextprotocol/server";
import { limits } from "../../contract/limits.ts";
import { quote } from "../../text/show-hidden.ts";
import { nameVisible } from "../tools/toolbox.ts";
import { refuseParams } from "./protocol-errors.ts";
import type { ServerOptions } from "./server-options.ts";

/** Ways of working that a person starts by name. */

type Prompt = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The tools that its text names. */
  readonly tools: readonly string[];
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
    description: "Create a campaign's links, check what their visitors see, and hand them over.",
    tools: ["list_links", "explain_link", "create_link"],
    arguments: [
      { name: "name", description: "What the campaign is called", required: true },
      { name: "url", description: "The page that its links open", required: true },
      {
        name: "path",
        description: "The link's path; made from the name if left out",
        required: false,
      },
      { name: "bundle_id", description: "The iOS app to open", required: false },
      { name: "package_name", description: "The Android app to open", required: false },
    ],
    write: ({ name = "", url = "", path, bundle_id, package_name }) => [
      `Launch the campaign ${cite(name)}, whose links open ${cite(url)}.`,
      path === undefined
        ? "Choose a short path from its name, and check with list_links that it is free."
        : `Its path is ${cite(path)}; check with list_links that it is free.`,
      ...[bundle_id, package_name].flatMap((app) =>
        app === undefined ? [] : [`It opens the app ${cite(app)}; check that it is registered.`],
      ),
      "Ask me once for all that is missing: the channels, such as mail or posters,",
      "and the title, text and picture that messengers show. Invent no address.",
      "Make one link for each channel, because clicks are counted per link.",
      "Put campaign parameters such as `utm_source` into each `url`.",
      "Before you create the links, call explain_link with their fields.",
      "Settle its problems with me first. Then call create_link for each, or make one plan.",
      "`name` is internal: visitors see `social_title`, else the app's name, else the host.",
      "`enable_forced_redirect` skips the page, and the choice between app and browser.",
      "A picture for messengers has 1200 × 630 pixels.",
      "Let me judge the links' page in a preview, and give me QR codes for what is printed.",
      "Last, give me a table with a line for each link: channel, address,",
      "and what visitors on iOS, Android and a desktop see.",
      "After the campaign, point its links at another page. Printed codes outlive it.",
    ],
  },
  {
    name: "audit_links",
    title: "Audit links",
    description: "Look through links for what is broken or missing, and propose repairs.",
    tools: ["audit_links"],
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
    description: "Register an app so that links open it, or find out why a link does not.",
    tools: ["list_ios_apps", "list_android_apps", "explain_link", "check_domain"],
    arguments: [
      { name: "bundle_id", description: "The iOS app's bundle id", required: false },
      { name: "package_name", description: "The Android app's package name", required: false },
    ],
    write: ({ bundle_id, package_name }) => [
      "Connect my app, so that links open it. If a link does not open it, find out why.",
      ...(bundle_id === undefined ? [] : [`iOS: bundle id ${cite(bundle_id)}.`]),
      ...(package_name === undefined ? [] : [`Android: package name ${cite(package_name)}.`]),
      "See what is registered with list_ios_apps and list_android_apps.",
      "Ask me for what is missing, and never invent it.",
      "iOS needs the team id and the App Store id.",
      "Android needs the SHA-256 fingerprints of the signing certificates.",
      "Google signs apps from Google Play: the Play Console shows that fingerprint.",
      "Compare the ids with me letter by letter: with a wrong team id, iOS never opens the app.",
      "Register or correct the app. A list of fingerprints replaces the whole list.",
      "Then call explain_link with the app and an example url, or with the link that fails,",
      "and settle its problems with me. A link without an app opens none.",
      "Call check_domain, and report each error with its fix. Only a public host with https works.",
      "Tell me what is left to do in the app itself: on iOS `applinks:HOST` as Associated Domain,",
      'on Android an intent filter for the host with `android:autoVerify="true"`.',
      "Apple caches the host's file for up to a day. Reinstall the app after a change.",
      "If all of this is right, ask how I tried. No app opens for an address typed into a browser,",
      "for a tap inside the app, or on iOS for a tap on a page of the same host.",
      "In the browsers inside some apps only the page's Open button works.",
      "Leave `enable_forced_redirect` off for those.",
    ],
  },
  {
    name: "migrate_links",
    title: "Migrate links",
    description: "Bring links over from another service, and check that none is lost.",
    tools: [
      "list_ios_apps",
      "list_android_apps",
      "plan_links",
      "apply_plan",
      "get_job",
      "audit_links",
      "explain_link",
    ],
    arguments: [{ name: "from", description: "The service that they come from", required: false }],
    write: ({ from }) => [
      from === undefined
        ? "Bring my links over from another service."
        : `Bring my links over from ${cite(from)}.`,
      "Register the apps first that they open: see list_ios_apps and list_android_apps.",
      "Ask me for what is missing, and never invent an id.",
      "Ask me for the service's export, unchanged: CSV or JSON of Firebase Dynamic Links, Bitly,",
      "Branch, Short.io, or a table whose columns are named like the fields of a link.",
      "Call plan_links with operation upsert and the file's text as csv, or its rows.",
      "If the file is too long for a call, I import it with `waypost import FILE`.",
      "Tell me the counts, then what could not be mapped, then the problems by their lines.",
      "An update overwrites a link of that path here: ask me first.",
      "Fix with me what can be fixed, and plan again until nothing is invalid.",
      "Then call apply_plan, watch it with get_job, and tell me of each row that was not done.",
      "Plan the same file once more, which should find every row unchanged.",
      "Call audit_links, and compare the most visited links with explain_link.",
      "Old addresses still open the old service. To move them, I add its domain to the project,",
      "change its DNS, and list the domain in the apps.",
      "The `page.link` domains of Firebase cannot be moved: those links must be published again.",
      "If links redirect to the old domain, plan an update that replaces the host in every field.",
      "To take it all back, plan the undo of the job.",
    ],
  },
];

/** A prompt is offered to keys that can call every tool it names. */
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
