// The studio as a person meets it: looked at first, then changed, then ended.
'use strict'

require('./pages.js')
require('./changes.js')
