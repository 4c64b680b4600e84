import { Tokenizer, type Token } from "parse5";
import { maskLiquid, unknown } from "./check-html.ts";
import { checkLiquid, type Piece } from "./check-liquid.ts";
import { pictureData } from "./html-rules.ts";
import { placeFaults } from "./line-and-column.ts";
import type { TemplateFault, TemplateProblem } from "./page-input.ts";
import { listWords } from "./split-words.ts";

/**
 * Finds URLs on hosts to which a project's pages may not link. Checks the template's source,
 * because the rendered URLs depend on the link. So each host must be written without Liquid, and
 * Liquid must not be able to turn text into markup.
 */

/**
 * Returns undefined if the URL is allowed. Otherwise returns the end of a sentence that begins with
 * "This address".
 */
export type JudgeAddress = (address: string) => string | undefined;

const addressed = listWords("href src cite action formaction poster srcset data background");
/** Outputs of the link's own URLs, which were checked when the link was saved. */
const ownAddress = /^\{\{-?\s*link\.(?:url|address|social_image_url)\s*-?\}\}$/;
const harmless = /^(?:#|mailto:|tel:)/i;
const beginning = /^https?:\/\/[^\s\\/?#@]+[/?#]/i;

export function findForeignAddresses(
  body: string,
  judge: JudgeAddress,
): readonly TemplateProblem[] {
  const faults: TemplateFault[] = [];
  const { pieces } = checkLiquid(body, () => {});
  const masked = maskLiquid(body, pieces);
  const search: AddressSearch = {
    body,
    masked,
    pieces,
    judge,
    // False if the template itself assigns `link`. Any separator matches, because Liquid accepts
    // unusual white space.
    hasOwnAddresses: !/\b(?:assign|for)[^\w-]+link\b/.test(body),
    report: (offset, message) => faults.push({ offset, message }),
  };
  /**
   * The end of the last tag or comment. A `<` between tags is reported, because Liquid could turn
   * it into a tag.
   */
  let end = 0;
  const checkBetween = (start: number) => {
    const at = masked.slice(end, start).indexOf("<");
    if (at >= 0) search.report(end + at, "Write a < that does not start an element as &lt;.");
  };
  const skip = ({ location }: Token.Token) => {
    checkBetween(location?.startOffset ?? 0);
    end = location?.endOffset ?? end;
  };
  const skipPlain = (token: Token.Token) => {
    skip(token);
    refuseLiquid(search, token.location?.startOffset ?? 0, end);
  };
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag: (tag) => {
        skip(tag);
        checkTag(search, tag);
      },
      onEndTag: skipPlain,
      onComment: skipPlain,
      onDoctype: skipPlain,
      onCharacter: () => {},
      onWhitespaceCharacter: () => {},
      onNullCharacter: () => {},
      onEof: () => checkBetween(masked.length),
      onParseError: () => {},
    },
  );
  tokenizer.write(masked, true);
  return placeFaults("body", body, faults);
}

type AddressSearch = {
  readonly body: string;
  readonly masked: string;
  readonly pieces: readonly Piece[];
  readonly judge: JudgeAddress;
  readonly hasOwnAddresses: boolean;
  readonly report: (offset: number, message: string) => unknown;
};

const needsWhole =
  "This server limits destinations, so Liquid is allowed only in text and in quoted values.";
const needsHost =
  "This server limits destinations. Write the host of an address without Liquid, or use only " +
  "{{ link.url }}, {{ link.address }} or {{ link.social_image_url }}.";

/**
 * Checks an HTML tag. A Liquid block must begin and end within one quoted attribute value, because
 * an `if` around a quotation mark could end the value.
 */
function checkTag(search: AddressSearch, { attrs, location }: Token.TagToken): void {
  const { masked, report } = search;
  const start = location?.startOffset ?? 0;
  let from = start;
  for (const { name, value } of attrs) {
    const place = location?.attrs?.[name];
    if (place === undefined) {
      // The second of two attributes with the same name has no position. `checkHtml` reports it
      // too.
      report(start, needsWhole);
      continue;
    }
    const { startOffset, endOffset } = place;
    refuseLiquid(search, from, startOffset);
    from = endOffset;
    const written = masked.slice(startOffset, endOffset);
    const quoted = /^[^="'\s]+\s*=\s*(["'])[^]*\1$/.exec(written);
    if (quoted === null) refuseLiquid(search, startOffset, endOffset);
    else {
      const begin = startOffset + written.indexOf(quoted[1] ?? "");
      refuseLiquid(search, startOffset, begin);
      if (!isBalanced(search, begin, endOffset)) report(begin, needsWhole);
    }
    if (addressed.has(name)) checkAddress(search, value.trim(), startOffset, endOffset);
  }
  refuseLiquid(search, from, location?.endOffset ?? from);
}

function checkAddress(
  { body, pieces, judge, hasOwnAddresses, report }: AddressSearch,
  value: string,
  begin: number,
  end: number,
): void {
  if (value === "" || pictureData.test(value) || harmless.test(value)) return;
  let address = value;
  if (value.includes(unknown)) {
    const [piece, ...others] = pieces.filter((each) => each.begin >= begin && each.end <= end);
    const isAlone = new RegExp(`^${unknown}+$`).test(value);
    const isOwn =
      isAlone && others.length === 0 && ownAddress.test(body.slice(piece?.begin, piece?.end));
    if (isOwn && hasOwnAddresses) return;
    // White space may be a masked `if`, and another URL could follow it.
    const [fixed] = /\s/.test(value) ? [] : (beginning.exec(value) ?? []);
    if (fixed === undefined || fixed.includes(unknown)) return void report(begin, needsHost);
    address = fixed;
  }
  const fault = judge(address);
  if (fault !== undefined) report(begin, `This address ${fault}.`);
}

function refuseLiquid({ pieces, report }: AddressSearch, begin: number, end: number): void {
  const piece = pieces.find((each) => each.begin < end && each.end > begin);
  if (piece !== undefined) report(piece.begin, needsWhole);
}

/** Whether all Liquid blocks that start in a value also end in it. */
function isBalanced({ body, pieces }: AddressSearch, begin: number, end: number): boolean {
  let depth = 0;
  for (const piece of pieces) {
    if (piece.end <= begin || piece.begin >= end) continue;
    if (piece.kind === "output") continue;
    if (piece.kind !== "tag") return false;
    const [, name = ""] = /^\{%-?\s*(\w+)/.exec(body.slice(piece.begin, piece.end)) ?? [];
    if (opening.has(name)) depth += 1;
    else if (name.startsWith("end")) depth -= 1;
    else if (depth === 0 && name !== "assign") return false;
    if (depth < 0) return false;
  }
  return depth === 0;
}

const opening = listWords("if unless case for");
