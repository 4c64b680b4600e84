import { base } from "../../src/look/base.ts";
import { controls } from "../../src/look/controls.ts";
import { facts } from "../../src/look/facts.ts";
import { frames } from "../../src/look/frames.ts";
import { tokens } from "../../src/look/tokens.ts";

/** The styles that the console shares with other pages, by their names in its style sheets. */
export const look = { page: tokens + base + controls + facts, frames };
