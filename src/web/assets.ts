import { createHash } from "node:crypto";
import { assetPath } from "./asset-path.ts";
import { frames } from "../look/frames.ts";
import { script } from "./script.ts";
import { editorScript } from "./script-editor.ts";
import { style } from "./style.ts";
import { devices } from "./style-devices.ts";
import { editor } from "./style-editor.ts";

/** The one style and the one script: by names that change with them, so that browsers keep them. */

const files = [
  { ending: "css", type: "text/css; charset=utf-8", text: style + frames + devices + editor },
  { ending: "js", type: "text/javascript; charset=utf-8", text: script + editorScript },
].map((file) => ({ ...file, address: `${assetPath}${digest(file.text)}.${file.ending}` }));

const [styleFile, scriptFile] = files;
export const styleAddress = styleFile?.address ?? "";
export const scriptAddress = scriptFile?.address ?? "";

export function isAsset(path: string): boolean {
  return path.startsWith(assetPath);
}

export function findAsset(
  path: string,
): { readonly type: string; readonly text: string } | undefined {
  return files.find(({ address }) => address === path);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
