// Reads cards as two libraries of other programs do: each file that is named, and what it is, one line of JSON a file.
import fs from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/");
const { CCardLib } = require("@risuai/ccardlib");
const utils = require("character-card-utils");
for (const file of process.argv.slice(3)) {
  const card = JSON.parse(fs.readFileSync(file, "utf-8"));
  const strict = card.spec === "chara_card_v2" ? utils.v2.safeParse(card) : { success: true };
  console.log(JSON.stringify({ kind: CCardLib.character.check(card), error: strict.success ? null : strict.error.issues }));
}
