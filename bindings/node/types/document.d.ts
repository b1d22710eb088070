// @generated from lib/document.js by scripts/node types
/** One document of a lazy scan. */
export class Document {
    /**
     * @param {string} lines that came together
     * @param {number} start of this one
     * @param {number} end
     * @param {(line: string) => any} parse
     */
    constructor(lines: string, start: number, end: number, parse: (line: string) => any);
    /** @private */
    private lines;
    /** @private */
    private start;
    /** @private */
    private end;
    /** @private */
    private parse;
    /**
     * The exact line of the file, with its key order and the digits of every number.
     * @returns {string}
     */
    get raw(): string;
    /**
     * The document's id.
     * @returns {string}
     */
    get id(): string;
    /**
     * The document as a new object, `_id` first.
     * @returns {any}
     */
    toValue(): any;
    /**
     * The value at a dotted path, in which digits index arrays; undefined if there
     * is none.
     * @param {string} path
     * @returns {any}
     */
    field(path: string): any;
    /** For JSON.stringify. */
    toJSON(): any;
}
