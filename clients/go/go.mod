module stillframe

go 1.21
