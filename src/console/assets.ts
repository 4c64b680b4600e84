import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { assetPath } from "./asset-path.ts";
import { frames } from "../look/frames.ts";
import { canUnpack } from "../network/pack-page.ts";
import { script } from "./script.ts";
import { editorScript } from "./script-editor.ts";
import { style } from "./style.ts";
import { devices } from "./style-devices.ts";
import { editor } from "./style-editor.ts";

/** Styles and scripts: by names that change with them, so that browsers keep them. */

const ofAll = [nameStyle(style), nameScript(script)];
/** Of pages that show pages of links, beside what all pages have. */
const ofFrames = [nameStyle(frames + devices + editor), nameScript(editorScript)];
const files = [...ofAll, ...ofFrames];

type Asset = { readonly type: string; readonly text: string; readonly address: string };

/** An asset as a browser is sent it. */
type SentAsset = {
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers: readonly (readonly [name: string, value: string])[];
};

/** The files that a page has, in the order in which they count. */
export function listAssets(hasFrames: boolean): {
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
} {
  const own = hasFrames ? files : ofAll;
  const addresses = own.map(({ address }) => address);
  return {
    styles: addresses.filter((address) => address.endsWith(".css")),
    scripts: addresses.filter((address) => address.endsWith(".js")),
  };
}

function nameStyle(text: string): Asset {
  return { type: "text/css; charset=utf-8", text, address: `${assetPath}${digest(text)}.css` };
}

function nameScript(text: string): Asset {
  return {
    type: "text/javascript; charset=utf-8",
    text,
    address: `${assetPath}${digest(text)}.js`,
  };
}

export function isAsset(path: string): boolean {
  return path.startsWith(assetPath);
}

/** Nothing of a visit is in them, so that nothing is told by how small they become. */
export function findAsset(path: string, request: Request): SentAsset | undefined {
  const file = files.find(({ address }) => address === path);
  if (file === undefined) return undefined;
  const { type, text } = file;
  const kept = [
    ["cache-control", "public, max-age=31536000, immutable"],
    ["vary", "accept-encoding"],
  ] as const;
  if (!canUnpack(request)) return { type, body: text, headers: kept };
  const packed = packs.get(path) ?? gzipSync(text);
  packs.set(path, packed);
  return { type, body: packed, headers: [...kept, ["content-encoding", "gzip"]] };
}

/** Those that somebody has asked for, by their addresses. */
const packs = new Map<string, Uint8Array>();

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
